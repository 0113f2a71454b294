"""Text encoders behind one small protocol."""

from rdiverse_verl.embedding.encoder import Encoder, WindowedEncoder, load_encoder
from rdiverse_verl.embedding.length_aware import LengthAwareEncoder

__all__ = ["Encoder", "LengthAwareEncoder", "WindowedEncoder", "load_encoder"]
