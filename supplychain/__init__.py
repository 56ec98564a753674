"""The parts of a release beside packwise's own code: locked libraries, licences, bills of materials, an audit."""
