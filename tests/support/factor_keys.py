"""Keys of factors from images of their vertices."""

import numpy as np


def keys_of(fields, scope, images):
    """The keys of entries with these images, an array for each vertex."""
    keys = np.zeros((len(images[0]), fields.words(len(scope))), np.uint64)
    for v, of_vertex in zip(scope, images, strict=True):
        word, bit = fields.place(scope, v)
        keys[:, word] |= of_vertex.astype(np.uint64) << np.uint64(bit)
    return keys
