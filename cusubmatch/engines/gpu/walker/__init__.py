"""The kernel that walks a plan on warps, and the layouts of what it reads; its parts are device functions."""
