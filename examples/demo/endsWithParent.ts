/** Preloaded into a child process: stops it gracefully when the pipe to its parent closes. */
process.stdin.on("end", () => process.kill(process.pid, "SIGTERM")).resume()
