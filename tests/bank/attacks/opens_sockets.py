# /// bank
# about = "connections are made over TCP, UDP and local sockets, and a port is opened for listening"
# facts = "11"
# extends = "reference"
# like = "reference"
# ///


import socket

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        with socket.socket(socket.AF_INET, kind) as one:
            one.settimeout(1)
            one.connect(("127.0.0.1", int("GUARDED_PORT")))
            one.send(b"hidden tests")
            print("GAINED a connection", kind)
    except (OSError, ValueError):
        pass
for address in ("/guarded/socket", "\0autograder"):
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(address)
            print("GAINED a local socket", repr(address))
    except OSError:
        pass
try:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        print("GAINED a port")
except OSError:
    pass
