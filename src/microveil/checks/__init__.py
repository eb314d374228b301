"""What holds for every method, attack, loss, score and control, as checks that any package can run on its own.

`check_method(MyMethod)` runs all of them. With pytest, each is a test of its own:

    @pytest.mark.parametrize("check", [pytest.param(check, id=name) for name, check in checks_of("method", MyMethod)])
    def test_it_keeps_the_contract(check):
        check()
"""

from microveil.checks.running import check_attack, check_control, check_loss, check_method, check_score, checks_of

__all__ = ["check_attack", "check_control", "check_loss", "check_method", "check_score", "checks_of"]
