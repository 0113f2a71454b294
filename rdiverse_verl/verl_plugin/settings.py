"""The ``rdiverse:`` block of a verl config: read alike by the trainer, the agent loop and the reward managers."""

from pathlib import Path
from typing import Annotated, Any, Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import Field

from rdiverse_verl.config import Settings, parse_settings
from rdiverse_verl.errors import ConfigError

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class SolverSampling(Settings):
    """How often and how the frozen Solver answers a question (R-Zero's values)."""

    samples: Positive = 10
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = 40
    max_tokens: Positive = 4096


class Coder(Settings):
    """The served model that writes a question's program, sampled greedily; asked once more if the reply holds none."""

    url: str
    model: str
    max_tokens: Positive = 1024


class ProgramEncoder(Settings):
    """The encoder of programs, and where it runs."""

    encoder: str = "jinaai/jina-code-embeddings-1.5b"
    device: str = "cpu"


class Skill(ProgramEncoder):
    """The encoder, and the .npy its vectors are centred by (none: not centred)."""

    centre: Path | None = None


class Memory(Settings):
    """The persistent memory, as it was before an iteration (none: the first iteration, P_MAP = 0)."""

    path: Path | None = None
    before_iteration: Positive = 1


class Service(Settings):
    """How long a served model may take over one request, and how often an unreachable one is tried."""

    timeout_s: float = Field(default=900, gt=0)
    tries: Positive = 4
    concurrency: Positive = 256


class Reward(Settings):
    """R_unc - alpha P_rep - beta P_MAP (R-Diverse, Eq. 9 and 11)."""

    alpha: float = Field(default=1.0, ge=0)
    beta: float = Field(default=1.0, ge=0)
    gamma: Share = 0.5
    tau_max: float = 0.5
    tau_mean: float = 0.25
    uncertainty_scale: Literal["paper", "rzero_code"] = "paper"
    cluster_distance: float = Field(default=0.5, gt=0, le=2)
    max_failed_share: Share = 0.2
    solver: SolverSampling = SolverSampling()


class Challenger(Reward):
    """The reward, and what it asks and measures with."""

    coder: Coder
    skill: Skill = Skill()
    memory: Memory = Memory()
    service: Service = Service()


class Embedding(Settings):
    """The encoder of responses and prefixes, one actor for all reward workers.

    ``length``: texts beyond the encoder's limit are pooled from windows or, ``exact``, truncated as published codes do.
    ``prompt`` stands before every text. An encoder that finishes no text for ``timeout_s`` is given up.
    """

    encoder: str = "all-MiniLM-L6-v2"
    device: str = "cpu"
    length: Literal["pool", "exact"] = "pool"
    prompt: str = ""
    timeout_s: float = Field(default=300, gt=0)


class Dra(Settings):
    """Diversity-aware reward adjustment (DRA-GRPO, Eq. 3-6); see ``algorithms.dra`` for the choices."""

    kernel: Literal["clamp", "raw", "logdet"] = "clamp"
    negative: Literal["paper", "positive_part"] = "paper"
    rescale: Literal["none", "mean1", "G"] = "none"


class Regeneration(Settings):
    """Entropy-guided prefix regeneration (ExTra, Sec. 4.3, App. B.5, Tab. 7).

    The paper gives no number for ``per_step``, ``min_step_tokens``, ``max_cuts`` and ``max_age``: 36 guided prompts a
    step make up its 136k against 128k prompts (Sec. 5.5); the steps are cut as in the released code.
    """

    enable: bool = True
    warmup_steps: int = Field(default=30, ge=0)
    tau: float = Field(default=0.1, gt=0)
    prefixes_per_prompt: Positive = 128
    max_age: int | None = Field(default=None, ge=0)
    queue_size: Positive = 4096
    per_step: Positive = 36
    min_step_tokens: Positive = 32
    max_cuts: Positive = 15
    max_share: float = Field(default=0.8, gt=0, lt=1)


class Extra(Settings):
    """Novelty after normalisation, and regeneration (ExTra, Eq. 1-3, Tab. 7)."""

    gamma: float = Field(default=1.0, ge=0)
    novelty: Literal["embedding", "ngram", "surprise"] = "embedding"
    ngram: Positive = 4
    place: Literal["after", "before"] = "after"
    memory: Positive = 6
    empty_pool_value: Share = 1.0
    regeneration: Regeneration = Regeneration()


class PluginSettings(Settings):
    """``rdiverse.seed`` for every run of ours; ``rdiverse.challenger``, a ``Challenger``, for Challenger training.

    ``dra`` and ``extra`` are read by the estimators that carry the names; giving one to another estimator is an error.
    """

    seed: int = 1
    challenger: dict[str, Any] | None = None
    embedding: Embedding = Embedding()
    dra: Dra | None = None
    extra: Extra | None = None


def read_settings(config: DictConfig) -> PluginSettings:
    """The block from verl's whole config; defaults where it is absent.

    Raises:
        ConfigError: unknown key or wrong value.
    """
    block = config.get("rdiverse")
    values = OmegaConf.to_container(block, resolve=True) if OmegaConf.is_config(block) else (block or {})
    return parse_settings(PluginSettings, values, source="rdiverse")


def read_challenger(config: DictConfig) -> Challenger:
    """The block's Challenger part.

    Raises:
        ConfigError: as ``read_settings``, or there is no such part.
    """
    block = read_settings(config).challenger
    if block is None:
        raise ConfigError("rdiverse.challenger is missing; it needs at least coder.url and coder.model")
    return parse_settings(Challenger, block, source="rdiverse.challenger")
