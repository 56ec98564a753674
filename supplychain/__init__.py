"""What packwise ships beside its own code: locked libraries, their licences, bills of materials, an audit."""
