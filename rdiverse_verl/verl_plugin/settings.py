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


class PluginSettings(Settings):
    """``rdiverse.seed`` for every run of ours; ``rdiverse.challenger``, a ``Challenger``, for Challenger training."""

    seed: int = 1
    challenger: dict[str, Any] | None = None


def read_settings(config: DictConfig) -> PluginSettings:
    """The block from verl's whole config; defaults where it is absent.

    Raises:
        ConfigError: unknown key or wrong value.
    """
    block: Any = OmegaConf.to_container(config.get("rdiverse") or OmegaConf.create({}), resolve=True)
    return parse_settings(PluginSettings, block, source="rdiverse")


def read_challenger(config: DictConfig) -> Challenger:
    """The block's Challenger part.

    Raises:
        ConfigError: as ``read_settings``, or there is no such part.
    """
    block = read_settings(config).challenger
    if block is None:
        raise ConfigError("rdiverse.challenger is missing; it needs at least coder.url and coder.model")
    return parse_settings(Challenger, block, source="rdiverse.challenger")
