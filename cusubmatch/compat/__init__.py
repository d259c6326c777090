"""The functions of other libraries, answered by this one."""
