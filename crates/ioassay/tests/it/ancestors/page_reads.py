"""Reads pages of a file: `page_reads.py random|strided|mapped FILE READS`.

Random pages are drawn with replacement, so some are read twice. The other two read one page in
eight, by calls or by touching a mapping.
"""

import mmap
import os
import random
import sys
import time

PAGE = 4096
EIGHTH = 8

method, path, reads = sys.argv[1], sys.argv[2], int(sys.argv[3])
file = os.open(path, os.O_RDONLY)
pages = os.fstat(file).st_size // PAGE
if method == "random":
    draw = random.Random(1)
    order = [draw.randrange(pages) for _ in range(reads)]
else:
    order = [page * EIGHTH % pages for page in range(reads)]
mapped = mmap.mmap(file, 0, prot=mmap.PROT_READ) if method == "mapped" else None
times = []
for page in order:
    began = time.perf_counter_ns()
    if mapped is None:
        os.pread(file, PAGE, page * PAGE)
    else:
        mapped[page * PAGE]
    times.append(time.perf_counter_ns() - began)
rate = reads * PAGE / (sum(times) / 1e9) / 1e6
times.sort()
p50, p99 = times[reads // 2], times[reads * 99 // 100]
print(f"p50 {p50 / 1000:.1f} us, p99 {p99 / 1000:.1f} us, {rate:.0f} MB/s")
