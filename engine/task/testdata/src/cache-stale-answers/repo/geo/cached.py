"""Answer repeated calls of a function from a cache."""

import functools


def cached(lru):
    """Decorator: keep the function's answers in the cache."""

    def decorate(function):
        @functools.wraps(function)
        def answer(*args, **kwargs):
            key = make_key(function, args, kwargs)
            found = lru.get(key)
            if found:
                return found
            result = function(*args, **kwargs)
            lru.put(key, result)
            return result

        return answer

    return decorate


def make_key(function, args, kwargs):
    return (function.__name__, args)
