//! Which mapping or list a line adds to, by its column.

/// Deeper texts are left to Python.
pub const DEEPEST: usize = 100;

struct Open {
    column: usize,
    is_list: bool,
}

/// The mappings and lists that lines can still add to, the innermost last.
#[derive(Default)]
pub struct Structure {
    open: Vec<Open>,
    has_root: bool,
    awaits: bool,
}

/// What a key or dash adds to; of the open mappings and lists, `depth` remain, this one the last of them.
pub struct Container {
    pub depth: usize,
    /// It begins here, as the value that was still to come.
    pub is_new: bool,
}

impl Structure {
    /// The mapping with keys, or the list with dashes, at `column`; None where there can be none.
    pub fn container(&mut self, column: usize, is_list: bool) -> Option<Container> {
        while let Some(open) = self.open.last() {
            if open.column == column && open.is_list == is_list {
                self.awaits = false;
                return Some(Container { depth: self.open.len(), is_new: false });
            }
            // A mapping can hold a list whose dashes stand at the column of its keys.
            if open.column < column || (open.column == column && is_list) {
                break;
            }
            self.open.pop();
            self.awaits = false;
        }
        if (self.has_root && !self.awaits) || self.open.len() >= DEEPEST || self.open.try_reserve(1).is_err() {
            return None;
        }
        self.has_root = true;
        self.awaits = false;
        self.open.push(Open { column, is_list });
        Some(Container { depth: self.open.len(), is_new: true })
    }

    /// Says that the value of the last key or dash is still to come.
    pub fn await_value(&mut self) {
        self.awaits = true;
    }

    /// Says that it has come, with no lines of its own.
    pub fn has_value(&mut self) {
        self.awaits = false;
    }
}
