"""``python -m corda_lab``: run one command, and turn whatever goes wrong into words and an exit status.

Status 0: it worked. 1: it ran, and did not meet what was asked (errors, counts that differ, a failed test). 2: bad input
or an unsuitable machine. 70: a defect of the lab. 130: interrupted.
"""

import os
import signal
import sys
import time
import traceback
from types import FrameType

from typer.exceptions import Abort, TyperException

from corda_lab import __version__
from corda_lab.cli.app import app
from corda_lab.errors import LabError
from corda_lab.paths import CACHE
from corda_lab.text import ui
from lab_workload.names import did_you_mean

EXIT_DEFECT = 70
EXIT_INTERRUPTED = 130


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Every polite request to end is a KeyboardInterrupt, so that all clean up in the same way."""
    raise KeyboardInterrupt


def usage_error(error: TyperException) -> LabError:
    """A mistake on the command line in one line, with what was probably meant."""
    message = " ".join(error.format_message().split())
    if possible := getattr(error, "possibilities", None):
        wrong = getattr(error, "option_name", "")
        message = f"No such option: {wrong}{did_you_mean(wrong, possible)}"
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "scripts/lab"
    return LabError(message, f"`{command} --help` shows what there is.")


def report_defect(error: BaseException) -> None:
    """Say that this is our fault, and keep the traceback in a file for whoever mends it."""
    log = CACHE / f"defect-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.log"
    about = f"corda-lab {__version__}\ncommand: {sys.argv[1:]}\npython: {sys.version}\n\n"
    text = about + "".join(traceback.format_exception(error))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
        where = f"Please report it with the file {log}."
    except OSError:
        sys.stderr.write(text)
        where = "Please report it with the lines above."
    words = " ".join(str(error).split())[:200]
    ui.print_error(LabError(f"This is a defect of the lab: {type(error).__name__}: {words}", where))


def run_command() -> int:
    """Run the command that was typed and return its exit status."""
    try:
        status = app(prog_name="scripts/lab", standalone_mode=False)
        code = status if isinstance(status, int) else 0
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        return code
    except LabError as error:
        ui.print_error(error)
        return error.exit_code
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return 2
        ui.print_error(usage_error(error))
        return 2
    except (KeyboardInterrupt, Abort):
        ui.error_console.print("Interrupted. Nothing is left half written; a lab that was up is still up.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; do not complain about it while the interpreter flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # the last line of defence: never a stack trace at the user
        report_defect(error)
        return EXIT_DEFECT


def main() -> None:
    """Entry point."""
    # Set for both: a shell script starts its background jobs with SIGINT ignored, and they could not be stopped cleanly.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    sys.exit(run_command())


if __name__ == "__main__":
    main()
