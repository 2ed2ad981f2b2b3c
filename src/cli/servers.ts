/**
 * What a signal means to each command, by the command's name, because a signal may come before the command is loaded.
 */

/** Commands that run until they are stopped. To all others a signal comes before they are done. */
const SERVERS: ReadonlySet<string | undefined> = new Set(["proxy", "gateway", "connect"])

/** Whether this command line runs a server. */
export const serves = (args: ReadonlyArray<string>): boolean => SERVERS.has(args[0])

/** Exit code of what a signal cut short, whichever signal: as shells write it of Ctrl-C. */
export const CUT_SHORT = 130
