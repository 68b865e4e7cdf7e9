#!/usr/bin/env python3
"""jobs.py BIN FIRST END: for each seed a job whose disk is a crashfs. Power is cut, or writes fail by rule, and the same command goes on with
what is left. Every row must count once an epoch but for pushes under way, and the job must end with 0. Three jobs run at a time."""
import json, os, random, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.parse, urllib.request
from concurrent.futures import ThreadPoolExecutor

BIN, FIRST, END = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ROWS, EPOCHS, WORKERS, BATCH = 1600, 6, 2, 8
FAULTS = ["fsync:ck/:EIO:0.3:-1:0s", "fsync:jn/:EIO:1:1:0s", "write:jn/:EIO:0.05:3:0s", "write:ck/:EIO:0.2:-1:0s", "rename:ck/:EIO:0.3:-1:0s",
          "read:ck/:EIO:0.2:-1:0s", "write:jn/:ENOSPC:0.1:-1:0s", "write:ck/:ENOSPC:0.3:-1:0s", "fsync::0:0.5:-1:400ms", "create:ck/:EROFS:1:-1:0s",
          "fsyncdir::EIO:0.5:-1:0s", "unlink::EIO:0.5:-1:0s", "open:ck/:ESTALE:0.3:-1:0s", "write:out/:EIO:0.3:-1:0s", "rename:out/:EIO:0.5:-1:0s",
          "*:ck/:EIO:1:-1:0s", "*:jn/:EIO:1:-1:0s"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Disk:
    def __init__(self, back, at, ext4):
        os.makedirs(at, exist_ok=True)
        self.at, self.port = at, free_port()
        self.process = subprocess.Popen([BIN + "/crashfs", back, at, "127.0.0.1:%d" % self.port], env=dict(os.environ, EXT4="1" if ext4 else ""),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.ask("stat")
                if os.path.ismount(at):
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise OSError("crashfs is not mounted")

    def ask(self, path):
        return urllib.request.urlopen("http://127.0.0.1:%d/%s" % (self.port, path), timeout=30).read().decode().strip()

    def close(self):
        subprocess.run(["umount", "-l", self.at], capture_output=True)
        self.process.kill()
        self.process.wait()


def play(seed):
    r = random.Random(seed)
    mode = r.choice(["sync", "sync", "async", "async", "half_async", "ssp"])
    journal, ext4, cuts = r.random() < 0.6, r.random() < 0.3, r.choice([1, 1, 2, 3])
    fault = r.choice(FAULTS) if r.random() < 0.4 else None
    d = tempfile.mkdtemp(prefix="power-%d-" % seed)
    disk = Disk(d + "/b0", d + "/m", ext4)
    recovery = {"every": "400ms", "deltas": r.choice([0, 0, 3])}
    if journal:
        recovery.update(journal="machine", journal_dir="m/jn")
    command = [BIN + "/fleetrun", "--server_num=2", "--worker_num=%d" % WORKERS, "--log_dir=log", "--max_restart=20", BIN + "/job", "-mode=" + mode, "-epochs=%d" % EPOCHS, "-pace=6ms",
               "-checkpoint=m/ck", "-out=m/out", "-ledger=ledger.json", "-strategy=" + json.dumps({"recovery": recovery})]
    starts, said, code, p = 0, "", None, None

    def start():
        nonlocal starts, p
        starts += 1
        p = subprocess.Popen(command, cwd=d, stdout=open(d + "/said", "ab"), stderr=subprocess.STDOUT, start_new_session=True)
        return p

    try:
        for k in range(1 if fault else cuts):
            till = start() and time.time() + 0.6 + 4 * r.random()
            while time.time() < till and p.poll() is None:
                time.sleep(0.02)
            if p.poll() is not None:
                code = p.returncode
                break
            if fault:
                disk.ask("set?" + urllib.parse.urlencode({"rule": fault}))
                time.sleep(r.choice([2, 5]))
                said += disk.ask("clear")
                code = p.wait(100)
                break
            left = "%s/b%d" % (d, k + 1)
            said += disk.ask("cut?to=%s&seed=%d" % (left, seed * 10 + k)) + " "
            p.kill()  # its roles end with it
            p.wait()
            disk.close()
            disk = Disk(left, d + "/m", ext4)
        if code != 0:
            code = start().wait(100)
        wrong = "" if code == 0 else "it ends with %s" % code
        if not wrong:
            each = EPOCHS / (WORKERS if mode == "sync" else 1)
            counts = json.load(open(d + "/ledger.json"))
            off = {k: w for k, w in counts.items() if abs(w - each) > 1e-3}
            # A push that is under way when its worker and one of two servers die may be in the other one's journal, and is made again.
            under_way = 0 if mode == "sync" else BATCH * WORKERS * (starts - 1)
            if len(off) > under_way or any(abs(w - each) > 1.001 for w in off.values()):
                wrong = "%d rows of %d do not have %s: %s" % (len(off), ROWS, each, dict(list(off.items())[:4]))
    except subprocess.TimeoutExpired:
        wrong = "it has not ended in 100 s"
        p.kill()
    finally:
        disk.close()
    print("%s seed %d: %s%s%s %s, %d starts, %s %s" % ("WRONG" if wrong else "right", seed, mode, " journal" if journal else "", " ext4" if ext4 else "",
                                                       fault or "power", starts, said, wrong), flush=True)
    if wrong:
        print("".join(open(d + "/said", errors="replace").readlines()[-6:]), flush=True)
    else:
        shutil.rmtree(d, ignore_errors=True)
    return not wrong


with ThreadPoolExecutor(3) as pool:
    right = list(pool.map(play, range(FIRST, END)))
print("%d of %d right" % (sum(right), len(right)))
sys.exit(sum(right) < len(right))
