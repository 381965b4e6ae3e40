"""Reads the Parquet files that rollbench writes, with Python alone: one page a
column and row group, plain values, gzip.

    for row in rollbench_parquet.rows("FILE"): …    # a dict a row
"""
import gzip
import struct


def rows(path):
    with open(path, "rb") as file:
        file.seek(-8, 2)
        size, magic = struct.unpack("<i4s", file.read(8))
        if magic != b"PAR1":
            raise ValueError(f"{path}: no Parquet file")
        file.seek(-8 - size, 2)
        footer = Thrift(file.read(size)).struct()
        columns = list(leaves(footer[2]))
        for group in footer[4]:
            values = []
            for chunk, (name, optional, is_list) in zip(group[1], columns):
                meta = chunk[3]
                file.seek(meta[9])
                values.append(column(file.read(meta[7]), meta[1], optional, is_list))
            names = [name for name, _, _ in columns]
            for row in zip(*values):
                yield dict(zip(names, row))


def leaves(elements):
    """Name, optional, is_list of the columns. A list has three elements."""
    rest = iter(elements[1:])
    for element in rest:
        is_list = element.get(5) == 1
        if is_list:
            next(rest), next(rest)
        yield element[4].decode(), element[3] == 1, is_list


def column(data, kind, optional, is_list):
    thrift = Thrift(data)
    count = thrift.struct()[5][1]
    page, at = gzip.decompress(data[thrift.at:]), 0
    most = optional + is_list
    repeats, at = levels(page, at, count) if is_list else ([0] * count, at)
    defined, at = levels(page, at, count) if most else ([0] * count, at)
    values = iter(plain(page[at:], kind, sum(d == most for d in defined)))
    out = []
    for repeat, level in zip(repeats, defined):
        if not is_list:
            out.append(next(values) if level == most else None)
        elif repeat:
            out[-1].append(next(values))
        else:
            out.append([next(values)] if level == most else None if optional and level == 0 else [])
    return out


def levels(page, at, count):
    size = struct.unpack_from("<i", page, at)[0]
    end, out = at + 4 + size, []
    thrift = Thrift(page)
    thrift.at = at + 4
    while thrift.at < end:
        out += run(thrift)
    if len(out) != count:
        raise ValueError("damaged levels")
    return out, end


def run(thrift):
    head = thrift.uvarint()
    level = thrift.data[thrift.at]
    thrift.at += 1
    return [level] * (head >> 1)


def plain(data, kind, count):
    if kind == 0:  # booleans, the first in the lowest bit
        return [bool(data[i // 8] >> i % 8 & 1) for i in range(count)]
    if kind == 6:
        out, at = [], 0
        for _ in range(count):
            size = struct.unpack_from("<i", data, at)[0]
            out.append(data[at + 4:at + 4 + size].decode())
            at += 4 + size
        return out
    return struct.unpack(f"<{count}{ {1: 'i', 4: 'f', 5: 'd'}[kind] }", data)


class Thrift:
    """Thrift's compact protocol: structs are dicts by field number."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def varint(self):
        value = self.uvarint()
        return value >> 1 ^ -(value & 1)

    def struct(self):
        fields, number = {}, 0
        while self.data[self.at]:
            head = self.data[self.at]
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.varint()
            fields[number] = self.value(head & 15)
        self.at += 1
        return fields

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.varint()
        if kind == 8:
            size = self.uvarint()
            self.at += size
            return self.data[self.at - size:self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            size = head >> 4 if head >> 4 < 15 else self.uvarint()
            return [self.value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"damaged metadata: type {kind}")
