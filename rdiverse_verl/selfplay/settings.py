"""The self-play recipe's settings. Defaults are the paper's (R-Diverse, Sec. 4.1, App. A.1); a recipe says what differs."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rdiverse_verl.config import Settings

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Training(Settings):
    """One GRPO phase, run by verl."""

    steps: Positive
    prompts_per_step: Positive = 512
    samples_per_prompt: Positive
    prompts_per_update: Positive = 128
    max_prompt_tokens: Positive = 2048
    max_response_tokens: Positive = 4096
    temperature: float = Field(1.0, gt=0)
    top_p: float = Field(0.99, gt=0, le=1)
    learning_rate: float = Field(1e-6, gt=0)
    weight_decay: float = Field(1e-2, ge=0)
    kl_coef: float = Field(1e-2, ge=0)
    save_every: Positive = 1
    verl: dict[str, Any] = Field(default_factory=dict)  # more verl keys for this phase alone

    @model_validator(mode="after")
    def _divides(self) -> "Training":
        if self.prompts_per_step % self.prompts_per_update:
            raise ValueError(
                f"prompts_per_step={self.prompts_per_step} is no multiple of prompts_per_update={self.prompts_per_update}"
            )
        return self


class Challenger(Training):
    """Challenger training and its reward, R_unc - alpha P_rep - beta P_MAP (Eq. 11)."""

    steps: Positive = 5
    samples_per_prompt: Positive = 4
    solver_samples: Positive = 10
    solver_temperature: float = Field(1.0, gt=0)
    solver_top_p: float = Field(1.0, gt=0, le=1)
    uncertainty_scale: Literal["paper", "rzero_code"] = "paper"
    alpha: float = Field(1.0, ge=0)
    beta: float = Field(1.0, ge=0)
    gamma: Share = 0.5
    tau_max: float = 0.5
    tau_mean: float = 0.25
    cluster_distance: float = Field(0.5, gt=0, le=2)


class Solver(Training):
    """Solver training on the pseudo-labels (Eq. 5)."""

    steps: Positive = 15
    samples_per_prompt: Positive = 5


class Sampling(Settings):
    """How a served model is sampled."""

    temperature: float = Field(1.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    max_tokens: Positive = 4096


class Generate(Sampling):
    questions: Positive = 8000
    top_p: float = Field(0.95, gt=0, le=1)


class Label(Sampling):
    """The vote that makes pseudo-labels, and the band of p-hat that is kept for the Solver."""

    samples: Positive = 10
    lowest: Share = 0.3
    highest: Share = 0.8


class Skill(Settings):
    """SAM: the Coder that writes programs and the encoder that embeds them (Sec. 3.2)."""

    coder_model: str = "Qwen/Qwen2.5-Coder-7B-Instruct"
    coder_url: str | None = None  # an OpenAI-style server that runs already; otherwise the driver serves coder_model
    max_tokens: Positive = 1024
    encoder: str = "jinaai/jina-code-embeddings-1.5b"
    calibration: str | None = None  # JSON lines {"program": ...}: vectors are centred by their mean
    max_failed_share: Share = 0.2


class Evaluate(Sampling):
    data: str  # parquet in verl's columns
    temperature: float = Field(0.0, ge=0)


class Serving(Settings):
    """The engine that serves models between and beside training runs."""

    engine: Literal["vllm", "transformers"] = "vllm"
    args: list[str] = Field(default_factory=list)  # more command-line arguments for the engine
    env: dict[str, str] = Field(default_factory=dict)  # e.g. CUDA_VISIBLE_DEVICES
    start_timeout_s: float = Field(900, gt=0)
    request_timeout_s: float = Field(900, gt=0)
    concurrency: Positive = 256


class SelfPlay(Settings):
    """A whole run."""

    seed: int = 1
    iterations: Positive = 5
    platform: Literal["gpu", "cpu"] = "gpu"
    devices: Positive = 8  # per node, for the trainer
    solver_devices: Positive = 4  # per node, for the frozen Solver beside Challenger training
    nodes: Positive = 1
    base_model: str
    replay_ratio: float = Field(0.3, ge=0, lt=1)
    challenger: Challenger = Challenger()
    solver: Solver = Solver()
    generate: Generate = Generate()
    label: Label = Label()
    skill: Skill = Skill()
    evaluate: Evaluate
    serving: Serving = Serving()
    verl: dict[str, Any] = Field(default_factory=dict)  # more verl keys for both training phases
