# /// bank
# about = "everything terse, one letter names, semicolons, walrus, lambda layers"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch as t,math
from torch import nn as n
class A(n.Module):
    def __init__(s,f):super().__init__();s.f=f
    def forward(s,x):return s.f(x)
class MultiHeadAttention(n.Module):
    def __init__(s,d,H,T_max):
        super().__init__();assert d%H==0;s.h=H;s.w=n.Linear(d,3*d,bias=False);s.o=n.Linear(d,d)
    def forward(s,x):
        B,T,D=x.shape;h=s.h
        q,k,v=s.w(x).view(B,T,h,D//h,3).permute(4,0,2,1,3)
        a=(q@k.transpose(-1,-2)/(D//h)**.5).masked_fill(t.ones(T,T,device=x.device).triu(1)>0,-1e4).softmax(-1)
        return s.o((a@v).transpose(1,2).reshape(B,T,D))
class MLP(n.Module):
    def __init__(s,d):super().__init__();s.n=n.Sequential(n.Linear(d,4*d),A(n.functional.gelu),n.Linear(4*d,d))
    def forward(s,x):return s.n(x)
class Block(n.Module):
    def __init__(s,d,H,T_max):super().__init__();s.a=MultiHeadAttention(d,H,T_max);s.m=MLP(d);s.p=n.LayerNorm(d);s.q=n.LayerNorm(d)
    def forward(s,x):x=x+s.a(s.p(x));return x+s.m(s.q(x))
class GPT(n.Module):
    def __init__(s,V,T_max,d,H,L):
        super().__init__();s.T=T_max
        s.e=n.Embedding(V,d);s.p=n.Embedding(T_max,d);s.b=n.Sequential(*[Block(d,H,T_max)for _ in range(L)]);s.f=n.LayerNorm(d);s.u=n.Linear(d,V,bias=False)
        for b in s.b:
            for w in b.a.o.weight,b.m.n[2].weight:w.data*=(2*L)**-.5
    def E(s,i):return s.e(i)+s.p.weight[:i.shape[1]]
    def forward(s,i,targets=None):
        assert i.shape[1]<=s.T,(i.shape[1],s.T)
        l=s.u(s.f(s.b(s.E(i))));return l if targets is None else(l,n.functional.cross_entropy(l.flatten(0,1),targets.flatten()))
    @t.no_grad()
    def generate(s,i,max_new_tokens):
        for _ in range(max_new_tokens):i=t.cat([i,t.multinomial(s(i[:,-s.T:])[:,-1].softmax(-1),1)],1)
        return i
def shape_table(m,i):
    x=m.E(i);r=[("embeddings",(*x.shape,))]
    for k,b in enumerate(m.b):x=b(x);r+=[(f"block {k+1}",(*x.shape,))]
    x=m.f(x);return r+[("final LayerNorm",(*x.shape,)),("logits",(*m.u(x).shape,))]
