"""A fleet: thousands of packages in one repository, each judged or rendered by one of many workers."""
