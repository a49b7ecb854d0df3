# /// bank
# about = "threads are started until there are no more"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


import threading

done = threading.Event()
threads = []
try:
    while len(threads) < 2000:
        threads.append(threading.Thread(target=done.wait, daemon=True))
        threads[-1].start()
    print("GAINED", len(threads), "threads")
except (RuntimeError, MemoryError):
    pass
done.set()
for thread in threads[:-1]:
    thread.join()
