# /// bank
# about = "a right model among files that are named like libraries, plugins and start-up hooks"
# facts = "8"
# extends = "reference"
# like = "reference"
# ///


import json

import numpy as np

print(json.dumps({"torch": torch.__version__}), np.float32(1))

#: file torch.py
print("GAINED an import of torch.py")
raise SystemExit

#: file conftest.py
print("GAINED an import of conftest.py")


def pytest_runtest_makereport(item, call):
    call.excinfo = None


def pytest_collection_modifyitems(items):
    items.clear()

#: file sitecustomize.py
print("GAINED an import of sitecustomize.py")

#: file usercustomize.py
print("GAINED an import of usercustomize.py")

#: file json.py
print("GAINED an import of json.py")
dumps = loads = None

#: file numpy.py
print("GAINED an import of numpy.py")

#: file pytest.py
print("GAINED an import of pytest.py")

#: file autograder.py
print("GAINED an import of autograder.py")

#: file encodings.py
print("GAINED an import of encodings.py")

#: file typing.py
print("GAINED an import of typing.py")

#: file setup.py
print("GAINED an import of setup.py")

#: file __init__.py
print("GAINED an import of __init__.py")
