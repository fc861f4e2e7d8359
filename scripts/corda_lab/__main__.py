"""``python -m corda_lab``: run one command, and turn every failure into a message and an exit status.

Exit status 0: success. 1: the command ran, but its result is a failure (failed requests, counts that differ, a failed
test). 2: bad input or an unsuitable machine. 70: a defect of the lab. 130: interrupted.
"""

import errno
import os
import sys
import time
import traceback

from typer.exceptions import Abort, TyperException

from corda_lab import __version__
from corda_lab.cli.verbs import app
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.paths import CACHE
from corda_lab.text import ui
from lab_workload.names import did_you_mean

EXIT_DEFECT = 70
EXIT_INTERRUPTED = 130


def usage_error(error: TyperException) -> LabError:
    """Reword Typer's usage error as one line, with a suggestion for an unknown option."""
    message = " ".join(error.format_message().split())
    if possible := getattr(error, "possibilities", None):
        wrong = getattr(error, "option_name", "")
        message = f"No such option: {wrong}{did_you_mean(wrong, possible)}"
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "scripts/lab"
    return LabError(message, f"See `{command} --help`.")


def report_defect(error: BaseException) -> None:
    """Report an unexpected exception as a defect of the lab, and write its traceback to a file in ``.cache/``."""
    log = CACHE / f"defect-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.log"
    about = f"corda-lab {__version__}\ncommand: {sys.argv[1:]}\npython: {sys.version}\n\n"
    text = about + "".join(traceback.format_exception(error))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
        where = f"Please report it and attach {log}."
    except OSError:
        sys.stderr.write(text)
        where = "Please report it with the traceback above."
    words = " ".join(str(error).split())[:200]
    ui.print_error(LabError(f"This is a defect of the lab: {type(error).__name__}: {words}", where))


def run_command() -> int:
    """Run the command in ``sys.argv`` and return its exit status."""
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
        ui.error_console.print("Interrupted. Every stored file is complete, and a lab that was up is still up.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe. Redirect it, so that the final flush does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno == errno.EIO and not os.isatty(sys.stdout.fileno()):
            # The terminal was closed, and the write came before its signal.
            interrupts.forget_terminal()
            return EXIT_INTERRUPTED
        report_defect(error)
        return EXIT_DEFECT
    except Exception as error:  # last resort: the user never sees a traceback
        report_defect(error)
        return EXIT_DEFECT


def main() -> None:
    """Install the signal handlers, run the command and exit with its status."""
    interrupts.raise_interrupts()
    sys.exit(run_command())


if __name__ == "__main__":
    main()
