/** Commands that run until they are stopped. Listed by name, because a signal may arrive before a command is loaded. */
const SERVERS: ReadonlySet<string | undefined> = new Set(["proxy", "gateway", "connect"])

/** The only option with a value that may precede the command. */
const CONFIG = "--config"

export const serves = (args: ReadonlyArray<string>): boolean =>
  SERVERS.has(args.find((arg, i) => !arg.startsWith("-") && args[i - 1] !== CONFIG))

/** Exit code after any signal, as in shells after Ctrl-C. */
export const CUT_SHORT = 130
