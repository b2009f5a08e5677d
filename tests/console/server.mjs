// A freshetd of its own for a test, and the client for it.
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

  // Starts it and waits for its ready line; again at the ports that it had before.
  async start() {
    const { args = [] } = this.options;
    const all = ["--data-dir", this.dir, "--listen", this.grpc ?? "127.0.0.1:0", "--http-listen", this.http ?? "127.0.0.1:0", "--durability", "wal", ...args];
    // Writes beyond a limit of file size fail instead of ending the process.
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

  // Runs freshet, and returns what it prints; input is given to it.
  async cli(args, input = "") {
    const promise = run(join(bin, "freshet"), ["--server", this.grpc, ...args], { env: { ...process.env, FRESHET_CONFIG: "" } });
    promise.child.stdin.end(input);
    return (await promise).stdout;
  }

  // No file may grow any more: the next write of the store fails.
  async breakDisk() { await run("prlimit", ["--pid", String(this.process.pid), "--fsize=1:1"]); }
}
