"""A package index on 127.0.0.1 for tests: it can cut connections, ask for a password, and wait in the middle of a file."""

import http.server
import re
import threading


class WheelServer:
    """Serves {file name: bytes}; its attributes may be changed while it runs. Every request is kept in `requests`."""

    def __init__(self, files):
        self.files = files
        self.cut_after = []  # bytes after which the next answers end early, one entry per answer
        self.authorization = ""  # the header that every request must carry
        self.hold = None  # an Event that answers wait for after their first half
        self.requests = []  # (path, Range header)
        self.half_sent = threading.Event()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server._answer(self)

            def log_message(self, *args):
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.address = f"127.0.0.1:{self._http.server_port}"
        self.index_url = f"http://{self.address}/simple"

    def close(self):
        self._http.shutdown()
        self._http.server_close()

    def file_requests(self):
        """The Range headers (or None) of the requests for files, in order."""
        return [wanted for path, wanted in self.requests if path.startswith("/files/")]

    def _answer(self, handler):
        wanted_range = handler.headers.get("Range")
        self.requests.append((handler.path, wanted_range))
        if self.authorization and handler.headers.get("Authorization") != self.authorization:
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="packages"')
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif handler.path.startswith("/simple/"):
            page = "".join(f'<a href="../../files/{name}">{name}</a>' for name in self.files).encode()
            handler.send_response(200)
            handler.send_header("Content-Type", "text/html")
            handler.send_header("Content-Length", str(len(page)))
            handler.end_headers()
            handler.wfile.write(page)
        else:
            self._send_file(handler, self.files[handler.path[len("/files/") :]], wanted_range)

    def _send_file(self, handler, content, wanted_range):
        begin = int(re.fullmatch(r"bytes=(\d+)-", wanted_range)[1]) if wanted_range else 0
        handler.send_response(206 if begin else 200)
        if begin:
            handler.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        rest = content[begin:]
        handler.send_header("Content-Length", str(len(rest)))
        handler.end_headers()
        if self.cut_after:
            handler.wfile.write(rest[: self.cut_after.pop(0)])
            return
        half = len(rest) // 2
        handler.wfile.write(rest[:half])
        handler.wfile.flush()
        self.half_sent.set()
        if self.hold:
            self.hold.wait(30)
        try:
            handler.wfile.write(rest[half:])
        except OSError:
            pass  # the client was killed, as some tests do
