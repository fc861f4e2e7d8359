"""The output of the benchmark of stage timing."""

from corda_lab.bench.stages import StageCost, parse_stage_cost


def test_reads_the_batches_among_other_lines() -> None:
    text = 'Container started\n{"flows":100,"caller_us_per_flow":9.5,"cpu_us_per_flow":80.25,"rows_dropped":0}\n'
    assert parse_stage_cost(text) == [StageCost(100, 9.5, 80.25, 0)]
