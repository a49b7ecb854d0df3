"""List the files of a ``docker export`` archive read from standard input, one per line, sorted by name.

Each line has mode, owner, size, content hash and name, but no timestamp: two builds are the same if their lists are.
"""

import hashlib
import sys
import tarfile

KINDS = {tarfile.DIRTYPE: "d", tarfile.SYMTYPE: "l", tarfile.LNKTYPE: "h", tarfile.REGTYPE: "-"}

lines = []
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
    for member in archive:
        file = archive.extractfile(member) if member.isreg() else None
        content = hashlib.file_digest(file, "sha256").hexdigest() if file else member.linkname or "-"  # type: ignore[arg-type]
        kind = KINDS.get(member.type, "?")
        lines.append(f"{kind}{member.mode:04o} {member.uid}:{member.gid} {member.size} {content} {member.name}")
lines.sort(key=lambda line: line.split(" ", 4)[4])
sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
print("\n".join(lines))
