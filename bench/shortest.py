#!/usr/bin/python3
"""Shortest digits of random doubles beside Python's repr: bench/shortest.py PROGRAM [COUNT]."""
import struct
import subprocess
import sys

from figures import figure

count = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
done = subprocess.run([sys.argv[1], "print", str(count)], stdout=subprocess.PIPE, check=True, text=True)


def digits(text):
    return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")


longer = other = 0
for line in done.stdout.splitlines():
    bits, text = line.split()
    known = repr(struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0])
    longer += len(text) > len(known)
    other += digits(text) != digits(known) or float(text) != float(known)
figure(f"{count} random doubles written with other digits than repr", other, "doubles", "at most", 0)
figure(f"{count} random doubles written longer than repr", longer, "doubles", "at most", 0)
