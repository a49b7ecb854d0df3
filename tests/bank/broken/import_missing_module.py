# /// bank
# about = "gpt.py imports a module that was not handed in"
# extends = "reference"
# ///


from step04_solution import CausalHead, make_mask
