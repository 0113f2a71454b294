"""Text encoders behind one small protocol."""

from rdiverse_verl.embedding.encoder import Encoder, load_encoder

__all__ = ["Encoder", "load_encoder"]
