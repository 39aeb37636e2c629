"""A probe with a script, at a socket where the helper and `iampassctl presence` ask it."""

import contextlib
import os
import socket
import threading


class ScriptedProbe:
    """Answers each question with the next of some words, the last one for ever."""

    def __init__(self, path, answers, before_answer=lambda: None):
        self.asked, self.answers, self.before_answer = [], list(answers), before_answer
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(path)
        self.listening.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                asker, _ = self.listening.accept()
            except OSError:
                return
            with asker:
                question = asker.recv(200).decode()
                self.asked.append(question)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                self.before_answer()
                with contextlib.suppress(BrokenPipeError):
                    asker.send(answer.format(phone=question.split()[1]).encode())

    def close(self):
        # Wakes whoever accepts. A test may have closed it already.
        with contextlib.suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
