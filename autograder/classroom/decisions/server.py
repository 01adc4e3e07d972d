"""The class report on a local server, with buttons that decide on flagged submissions.

Bound to localhost. Every address begins with a key that only the printed address has, so another
account of the machine cannot read the page. A decision is a POST with a token of this server's,
accepted only from its own origin. One request is served at a time, as forking and the gradebook
need.
"""

import hmac
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from autograder import course_layout
from autograder.classroom.decisions.decide import (
    Desk,
    accept_relocated,
    give_points,
    open_items,
    undo,
    use_attempt,
)
from autograder.classroom.decisions.record import decisions
from autograder.classroom.grade_class import graded_here, records
from autograder.classroom.reports.class_report import report_page
from autograder.classroom.submissions.metadata import left_out
from autograder.common.atomic_files import lies_below
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment

HOST = "127.0.0.1"
MAX_BODY = 16_384
MAX_REASON = 500
SECONDS = 3.0  # to wait for a request; a browser opens connections that it may never use
# A student's page has nothing to do with the origin of the report.
FEEDBACK_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


class DecisionServer(HTTPServer):
    """Serves the reports of a course directory; `address` is where the browser goes first.

    backend: a sandbox backend for decisions that grade; default the strongest one here. Raises
    CourseError if nothing was graded there.
    """

    def __init__(self, course_root: Path, report: Path, backend: object = None, port: int = 0):
        self.course_root, self.report = course_root.resolve(), report.resolve()
        self.key, self.token = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        names = graded_here(self.course_root)
        self.desks = {
            name: Desk(self.course_root, self.report, load_assignment(name), backend)
            for name in names
        }
        self.problems: dict[str, str] = {}  # by assignment, why the last decision was refused
        super().__init__((HOST, port), Handler)
        self.origin = f"http://{HOST}:{self.server_port}"
        first = f"{names[0]}.html" if len(names) == 1 else course_layout.INDEX_PAGE
        self.address = f"{self.origin}/{self.key}/report/{first}"

    def page(self, name: str) -> str:
        """Return the report on an assignment, with buttons."""
        desk = self.desks[name]
        assignment, rows = records(self.course_root, name)
        return report_page(
            self.report / f"{name}.html",
            rows,
            assignment,
            self.course_root,
            left_out(self.course_root, assignment),
            course_layout.INDEX_PAGE,
            desk={
                "open": open_items(desk, rows),
                "decided": decisions(self.course_root, name)[::-1],
                "token": self.token,
                "action": f"{name}.html",
                "problem": self.problems.pop(name, ""),
            },
        )

    def feedback(self, path: Path) -> bytes | None:
        """Return a feedback page by its address below the course directory; None if it is none."""
        folder = self.course_root / "feedback"
        ours = path.suffix == ".html" and lies_below(path, folder)
        return path.read_bytes() if ours and path.is_file() else None

    def decide(self, name: str, form: dict[str, str]) -> None:
        """Apply one decision. Raises CourseError for one that cannot be made."""
        desk, kind, student = self.desks[name], form.get("decision", ""), form.get("student", "")
        reason = form.get("reason", "")[:MAX_REASON]
        if kind == "undo":
            undo(desk, _number(form, "number", int))
        elif kind == "points":
            points = _number(form, "points", float)
            give_points(desk, student, form.get("exercise", ""), points, reason)
        elif kind == "relocated":
            accept_relocated(desk, student, form.get("exercise", ""), reason)
        elif kind.startswith("attempt-"):
            number = _number({"attempt": kind.removeprefix("attempt-")}, "attempt", int)
            use_attempt(desk, student, number, reason)
        else:
            raise CourseError(f"{kind!r}: no such decision; reload the report")


def _number(form: dict[str, str], field: str, kind: type) -> int | float:
    try:
        return kind(form.get(field, ""))
    except ValueError:
        raise CourseError(f"{field} {form.get(field, '')!r}: give a number") from None


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: DecisionServer
    timeout = SECONDS

    def do_GET(self) -> None:  # noqa: N802, the name that http.server calls
        """Send a report, the page over all assignments, or a feedback page."""
        path = self._path()
        if path is None:
            return self._refuse(HTTPStatus.NOT_FOUND, "not here; open the address that was printed")
        if (name := self._assignment(path)) in self.server.desks:
            try:
                page = self.server.page(name)
            except CourseError as error:
                return self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            return self._send(page.encode())
        if path == self.server.report / course_layout.INDEX_PAGE and path.is_file():
            return self._send(path.read_bytes())
        if (page := self.server.feedback(path)) is not None:
            return self._send(page, FEEDBACK_POLICY)
        return self._refuse(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:  # noqa: N802
        """Apply a decision, and send the browser back to the report."""
        path = self._path()
        name = self._assignment(path) if path else ""
        if name not in self.server.desks:
            return self._refuse(HTTPStatus.NOT_FOUND, "no such report")
        if self.headers.get("Origin") != self.server.origin:
            return self._refuse(HTTPStatus.FORBIDDEN, "a decision comes from the report itself")
        form = self._form()
        token = form.get("token", "").encode() if form else b""
        if not hmac.compare_digest(token, self.server.token.encode()):
            return self._refuse(HTTPStatus.FORBIDDEN, "the page is from an earlier run: reload it")
        try:
            self.server.decide(name, form)
        except CourseError as error:
            self.server.problems[name] = f"{error}."
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/{self.server.key}/report/{quote(name)}.html#decisions")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing: the address has the key."""

    def _path(self) -> Path | None:
        """Return the file that an address names; None without the key, or from another host.

        `report/` is the report's folder, wherever it lies, and the rest lies in the course
        directory, as the report's relative links have it.
        """
        if self.headers.get("Host") != f"{HOST}:{self.server.server_port}":
            return None  # a name that was bound to this address
        parts = unquote(urlsplit(self.path).path).split("/")[1:]
        if not hmac.compare_digest(parts[0].encode(), self.server.key.encode()):
            return None
        if ".." in parts or len(parts) < 3:
            return None
        base = self.server.report if parts[1] == "report" else self.server.course_root / parts[1]
        return base.joinpath(*parts[2:])

    def _assignment(self, path: Path) -> str:
        return path.stem if path.parent == self.server.report and path.suffix == ".html" else ""

    def _form(self) -> dict[str, str] | None:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            return None
        if not 0 < length <= MAX_BODY:
            return None
        body = self.rfile.read(length).decode(errors="replace")
        return {name: values[-1] for name, values in parse_qs(body).items()}

    def _send(self, page: bytes, policy: str = "") -> None:
        self.send_response(HTTPStatus.OK)
        self._headers(len(page), "text/html; charset=utf-8")
        self.send_header("Referrer-Policy", "same-origin")
        if policy:
            self.send_header("Content-Security-Policy", policy)
        else:
            self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(page)

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        page = f"{words}\n".encode()
        self.send_response(status)
        self._headers(len(page), "text/plain; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(page)
        self.close_connection = True

    def _headers(self, length: int, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
