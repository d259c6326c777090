"""What operations on factors take, in nanoseconds of one thread, about."""

__all__ = [
    "DENSE_PRODUCT_NS",
    "DEVICE_PRODUCT_NS",
    "DEVICE_STEP_NS",
    "DEVICE_TOTAL_NS",
    "ENTRY_NS",
    "MANY_PRODUCTS",
    "OPERATION_NS",
    "PRODUCT_NS",
    "device_ns",
    "host_ns",
]

OPERATION_NS = 3e4  # any operation
DENSE_PRODUCT_NS = 2.5  # a product, where the sums of a result have a place for each key
PRODUCT_NS = 25.0  # elsewhere
ENTRY_NS = 8.0  # to move an entry
DEVICE_STEP_NS = 1.2e6  # an elimination on a device,
DEVICE_PRODUCT_NS = 0.3  # and each of its products,
MANY_PRODUCTS = 1 << 27  # as many more as these, since they take memory,
DEVICE_TOTAL_NS = 0.25  # or each where all are added up to one number


def device_ns(cost: float, is_total: bool = False) -> float:
    """What an elimination, perhaps of all vertices, takes on a device that takes a thread of the host so long."""
    products = cost / PRODUCT_NS
    if is_total:
        return DEVICE_STEP_NS + DEVICE_TOTAL_NS * products
    return DEVICE_STEP_NS + DEVICE_PRODUCT_NS * products * (1.0 + products / MANY_PRODUCTS)


def host_ns(cost: float) -> float:
    """What an elimination takes a thread of the host, at the most, that takes a device so long."""
    return (cost - DEVICE_STEP_NS) * PRODUCT_NS / DEVICE_TOTAL_NS
