"""The self-play recipe's settings; defaults are the paper's (R-Diverse, Sec. 4.1 and App. A.1)."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rdiverse_verl.config import Settings
from rdiverse_verl.verl_plugin.settings import ProgramEncoder, Reward, Service, SolverSampling

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Training(Settings):
    """One GRPO phase, run by verl."""

    steps: Positive
    prompts_per_step: Positive = 512
    samples_per_prompt: Positive
    prompts_per_update: Positive = 128
    samples_per_device: Positive = 8  # in one forward and backward pass; a matter of memory, not of the result
    max_prompt_tokens: Positive = 2048
    max_response_tokens: Positive = 4096
    temperature: float = Field(1.0, gt=0)
    top_p: float = Field(0.99, gt=0, le=1)
    learning_rate: float = Field(1e-6, gt=0)
    weight_decay: float = Field(1e-2, ge=0)
    kl_coef: float = Field(1e-2, ge=0)
    save_every: Positive = 1
    step_timeout_s: float = Field(7200, gt=0)  # a step that takes longer ends the run; the same command continues it
    verl: dict[str, Any] = Field(default_factory=dict)  # more verl keys for this phase alone

    @model_validator(mode="after")
    def _divides(self) -> "Training":
        if self.prompts_per_step % self.prompts_per_update:
            raise ValueError(
                f"prompts_per_step={self.prompts_per_step} is no multiple of "
                f"prompts_per_update={self.prompts_per_update}"
            )
        return self


class ChallengerTraining(Training):
    steps: Positive = 5
    samples_per_prompt: Positive = 4


class SolverTraining(Training):
    steps: Positive = 15
    samples_per_prompt: Positive = 5


class Sampling(Settings):
    """How a served model is sampled."""

    temperature: float = Field(1.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    max_tokens: Positive = 4096

    def request(self) -> dict[str, Any]:
        """The request's part of an OpenAI-style body."""
        return self.model_dump(include={"temperature", "top_p", "max_tokens"})


class Generate(Sampling):
    questions: Positive = 8000
    top_p: float = Field(0.95, gt=0, le=1)


class Label(SolverSampling):
    """The vote that makes pseudo-labels, and the band of p-hat that is kept for the Solver (R-Zero's)."""

    lowest: Share = 0.3
    highest: Share = 0.8


class Coder(Settings):
    """The model that writes programs (Sec. 3.2)."""

    model: str = "Qwen/Qwen2.5-Coder-7B-Instruct"
    url: str | None = None  # an OpenAI-style server that runs already; without one the driver serves the model
    max_tokens: Positive = 1024


class Skill(ProgramEncoder):
    """SAM's encoder of programs (Sec. 3.2)."""

    calibration: str | None = None  # JSON lines {"program": ...}: vectors are centred by the mean of theirs


class Evaluate(Sampling):
    data: str  # parquet in verl's columns
    limit: Positive | None = None  # the first rows only
    temperature: float = Field(0.0, ge=0)


class Serving(Settings):
    """The engine that serves models between and beside training runs."""

    engine: Literal["vllm", "transformers"] = "vllm"
    args: list[str] = Field(default_factory=list)  # more command-line arguments for the engine
    env: dict[str, str] = Field(default_factory=dict)  # e.g. CUDA_VISIBLE_DEVICES
    start_timeout_s: float = Field(900, gt=0)


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
    challenger: ChallengerTraining = ChallengerTraining()
    solver: SolverTraining = SolverTraining()
    reward: Reward = Reward()
    coder: Coder = Coder()
    skill: Skill = Skill()
    generate: Generate = Generate()
    label: Label = Label()
    service: Service = Service()
    evaluate: Evaluate
    serving: Serving = Serving()
    verl: dict[str, Any] = Field(default_factory=dict)  # more verl keys for both training phases

    @model_validator(mode="after")
    def _shares_evenly(self) -> "SelfPlay":
        ranks = self.devices * self.nodes
        for name, training in (("challenger", self.challenger), ("solver", self.solver)):
            samples = training.prompts_per_update * training.samples_per_prompt
            if samples % (ranks * training.samples_per_device):
                raise ValueError(
                    f"{name}: prompts_per_update * samples_per_prompt = {samples} is no multiple of "
                    f"devices={self.devices} * nodes={self.nodes} * samples_per_device={training.samples_per_device}"
                )
        return self
