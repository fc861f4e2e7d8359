"""The file of the web page of the suite ``slow`` that attacks the lab from a browser: what each of its attempts got."""

from corda_lab.reliability.aftermath import Aftermath

KIND = "browser"


class BrowserFile(Aftermath):
    """The content of the file."""

    answers: dict[str, int | str]
    """What each attempt got, by what it tried: an HTTP status, or ``blocked`` if the browser withheld the answer or did
    not send the request. If one got something else than it has to, the test fails, and there is no file."""
