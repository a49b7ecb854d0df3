# -*- coding: latin-1 -*-
# /// bank
# about = "Latin-1, CRLF and tabs, French comments, helper module, block inlined into a Sequential of residuals"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
# Étape 5 : assembler le modèle
import torch
import torch.nn as nn
import torch.nn.functional as F
from outils import Residuel, echelle, masque_causal


class MultiHeadAttention(nn.Module):
	"""Plusieurs têtes d'attention, côte à côte."""
	def __init__(self, d, H, T_max):
		super().__init__()
		assert d % H == 0, "d doit être un multiple de H"
		self.H = H
		self.requetes = nn.Linear(d, d, bias=False)
		self.cles = nn.Linear(d, d, bias=False)
		self.valeurs = nn.Linear(d, d, bias=False)
		self.sortie = nn.Linear(d, d)
		self.register_buffer("masque", masque_causal(T_max))

	def forward(self, x):
		B, T, d = x.shape
		decoupe = lambda t: t.view(B, T, self.H, d // self.H).transpose(1, 2)
		q, k, v = decoupe(self.requetes(x)), decoupe(self.cles(x)), decoupe(self.valeurs(x))
		# le masque vaut 0 ou -inf : on l'ajoute
		s = q @ k.transpose(-1, -2) * (d // self.H) ** -0.5 + self.masque[:T, :T]
		return self.sortie((s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d))


class MLP(nn.Module):
	def __init__(self, d):
		super().__init__()
		self.montee = nn.Linear(d, 4 * d)
		self.descente = nn.Linear(4 * d, d)

	def forward(self, x):
		return self.descente(F.gelu(self.montee(x)))


class Block(nn.Module):
	def __init__(self, d, H, T_max):
		super().__init__()
		self.suite = nn.Sequential(
			Residuel(nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)),
			Residuel(nn.LayerNorm(d), MLP(d)),
		)

	def forward(self, x):
		return self.suite(x)


class GPT(nn.Module):
	def __init__(self, V, T_max, d, H, L):
		super().__init__()
		self.T_max = T_max
		self.mots = nn.Embedding(V, d)
		self.places = nn.Embedding(T_max, d)
		self.blocs = nn.Sequential(*(Block(d, H, T_max) for _ in range(L)))
		self.norme = nn.LayerNorm(d)
		self.tete = nn.Linear(d, V, bias=False)
		for bloc in self.blocs:
			echelle(bloc.suite[0].fonction.sortie, L)
			echelle(bloc.suite[1].fonction.descente, L)

	def plonger(self, idx):
		return self.mots(idx) + self.places(torch.arange(idx.shape[1], device=idx.device))

	def forward(self, idx, targets=None):
		assert idx.shape[1] <= self.T_max, f"trop long : {idx.shape[1]} > {self.T_max}"
		logits = self.tete(self.norme(self.blocs(self.plonger(idx))))
		if targets is None:
			return logits
		return logits, F.cross_entropy(logits.mT, targets)

	@torch.no_grad()
	def generate(self, idx, max_new_tokens):
		suite = [idx]
		for _ in range(max_new_tokens):
			tout = torch.cat(suite, dim=1)
			p = F.softmax(self(tout[:, -self.T_max:])[:, -1], dim=-1)
			suite.append(torch.multinomial(p, 1))
		return torch.cat(suite, dim=1)


def shape_table(model, idx):
	x = model.plonger(idx)
	lignes = [("embeddings", tuple(x.shape))]
	for n, bloc in enumerate(model.blocs, 1):
		x = bloc(x)
		lignes.append((f"block {n}", tuple(x.shape)))
	x = model.norme(x)
	lignes.append(("final LayerNorm", tuple(x.shape)))
	lignes.append(("logits", tuple(model.tete(x).shape)))
	return lignes


#: file outils.py
# -*- coding: latin-1 -*-
import math
import torch
from torch import nn


def masque_causal(T):
	"""0 là où l'on peut regarder, -inf ailleurs"""
	return torch.zeros(T, T).masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))


def echelle(lineaire, L):
	with torch.no_grad():
		lineaire.weight.copy_(lineaire.weight / math.sqrt(2 * L))


class Residuel(nn.Module):
	def __init__(self, norme, fonction):
		super().__init__()
		self.norme = norme
		self.fonction = fonction

	def forward(self, x):
		return x + self.fonction(self.norme(x))
