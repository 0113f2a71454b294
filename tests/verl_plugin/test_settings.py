"""The ``rdiverse:`` block of a verl config."""

import pytest
from omegaconf import OmegaConf

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.settings import read_challenger, read_settings

CODER = {"url": "http://127.0.0.1:1", "model": "coder"}


def config(**block):
    return OmegaConf.create({"rdiverse": block, "trainer": {}})


def test_defaults_are_the_papers():
    challenger = read_challenger(config(challenger={"coder": CODER}))
    assert (challenger.alpha, challenger.beta, challenger.gamma) == (1.0, 1.0, 0.5)
    assert (challenger.tau_max, challenger.tau_mean, challenger.cluster_distance) == (0.5, 0.25, 0.5)
    assert (challenger.solver.samples, challenger.solver.top_k, challenger.solver.max_tokens) == (10, 40, 4096)
    assert challenger.memory.path is None


def test_a_config_without_the_block_has_a_seed_and_no_challenger():
    empty = OmegaConf.create({"trainer": {}})
    assert read_settings(empty).seed == 1
    with pytest.raises(ConfigError, match=r"rdiverse\.challenger is missing"):
        read_challenger(empty)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"sed": 3}, "rdiverse: unknown key 'sed'; did you mean 'seed'?"),
        (
            {"challenger": {"coder": CODER, "tau_maks": 1}},
            "rdiverse.challenger: unknown key 'tau_maks'; did you mean 'tau_max'?",
        ),
        (
            {"challenger": {"coder": {**CODER, "uri": 1}}},
            "rdiverse.challenger: unknown key 'coder.uri'; did you mean 'url'?",
        ),
        ({"extra": {"gama": 1}}, "rdiverse: unknown key 'extra.gama'; did you mean 'gamma'?"),
        ({"extra": {"gamma": float("inf")}}, "rdiverse: extra.gamma: "),
        ({"challenger": {"coder": CODER, "alpha": -1}}, "rdiverse.challenger: alpha: "),
        ({"challenger": {"coder": CODER, "uncertainty_scale": "rzero"}}, "rdiverse.challenger: uncertainty_scale: "),
        ({"challenger": {}}, "rdiverse.challenger: coder: "),
    ],
)
def test_a_wrong_block_is_one_line_that_names_the_key(block, message):
    with pytest.raises(ConfigError) as caught:
        read_challenger(config(**block))
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_block_that_is_none_is_said():
    with pytest.raises(ConfigError, match="rdiverse: the whole file: "):
        read_settings(OmegaConf.create({"rdiverse": 5}))
