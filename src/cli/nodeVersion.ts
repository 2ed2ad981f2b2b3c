/** Which Node the command needs. This has to be understood by the Nodes that it is about. */

/** The first with ML-KEM; as package.json has it. */
export const NEEDED = "24.7.0"

const numbers = (version: string) => version.split(".").map(Number)

/** What to tell whoever starts the command with a Node of `version`, which is at `path`, if that is too old. */
export const whyTooOld = (version: string, path: string): string | undefined => {
  const [major = 0, minor = 0] = numbers(version)
  const [neededMajor = 0, neededMinor = 0] = numbers(NEEDED)
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return undefined
  return `sealgate needs Node ${NEEDED} or newer; this is Node ${version} (${path}).
Get one from https://nodejs.org, or with a version manager: nvm install 24, fnm install 24, mise use node@24.
To try it without installing one: npx -p node@24 -p sealgate sealgate --help`
}
