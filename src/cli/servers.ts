/** Commands that run until they are stopped. Listed by name, because a signal may arrive before a command is loaded. */
const SERVERS: ReadonlySet<string | undefined> = new Set(["proxy", "gateway", "connect"])

/** Whether this command line runs a server. */
export const serves = (args: ReadonlyArray<string>): boolean => SERVERS.has(args[0])

/** Exit code after any signal, as in shells after Ctrl-C. */
export const CUT_SHORT = 130
