/** Preloaded into a child: however its parent ends, the pipe between them closes, and with it the child stops in order. */
process.stdin.on("end", () => process.kill(process.pid, "SIGTERM")).resume()
