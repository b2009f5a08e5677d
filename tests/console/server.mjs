// Starts a freshetd for a test, and runs the client on it.
import { spawn, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const bin = process.env.FRESHET_BIN;
const run = promisify(execFile);

export class Server {
  constructor(options = {}) {
    this.options = options;
    this.dir = options.dir ?? mkdtempSync(join(process.env.FRESHET_WORK, "store-"));
    this.log = "";
  }

  // Starts the server and waits for its ready line. A restart uses the same ports.
  async start() {
    const { args = [] } = this.options;
    const all = ["--data-dir", this.dir, "--listen", this.grpc ?? "127.0.0.1:0", "--http-listen", this.http ?? "127.0.0.1:0", "--durability", "wal", ...args];
    // With the signal ignored, writes beyond the file size limit fail and do not end the process.
    this.process = spawn("bash", ["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", join(bin, "freshetd"), ...all], { stdio: ["ignore", "pipe", "pipe"] });
    this.process.stderr.on("data", data => { this.log += data; });
    let out = "";
    for await (const data of this.process.stdout) {
      out += data;
      if (out.includes("\n")) break;
    }
    const ready = /grpc=(\S+) http=(\S+)/.exec(out);
    if (ready === null) throw new Error(`freshetd did not start: ${this.log}`);
    [, this.grpc, this.http] = ready;
    return this;
  }

  get url() { return `http://${this.http}`; }

  async stop(signal = "SIGTERM") {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, "exit");
    this.process.kill(signal);
    await gone;
  }

  async remove() {
    await this.stop("SIGKILL");
    rmSync(this.dir, { recursive: true, force: true });
  }

  // Runs freshet with this input and returns its output.
  async cli(args, input = "") {
    const promise = run(join(bin, "freshet"), ["--server", this.grpc, ...args], { env: { ...process.env, FRESHET_CONFIG: "" } });
    promise.child.stdin.end(input);
    return (await promise).stdout;
  }

  // Forbids files to grow, so the next write of the store fails.
  async breakDisk() { await run("prlimit", ["--pid", String(this.process.pid), "--fsize=1:1"]); }
}
