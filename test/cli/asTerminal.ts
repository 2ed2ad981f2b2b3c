/** Preloaded into the command: makes it take the stream that `TERMINAL` names for a terminal, and only that. */
Object.defineProperty(process.env["TERMINAL"] === "stdout" ? process.stdout : process.stderr, "isTTY", { value: true })
