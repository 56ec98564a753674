"""The parts of a release other than packwise's own code: locked libraries, licences, bills of materials, an audit."""
