/** Checks the version of Node. Old versions must be able to run this file. */

/** The first version with ML-KEM, as in package.json. */
export const NEEDED = "24.7.0"

const numbers = (version: string) => version.split(".").map(Number)

/** Returns the error message if Node `version` at `path` is too old. */
export const whyTooOld = (version: string, path: string): string | undefined => {
  const [major = 0, minor = 0] = numbers(version)
  const [neededMajor = 0, neededMinor = 0] = numbers(NEEDED)
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return undefined
  return `sealgate needs Node ${NEEDED} or newer; this is Node ${version} (${path}).
Get one from https://nodejs.org, or with a version manager: nvm install 24, fnm install 24, mise use node@24.
To try it without installing one: npx -p node@24 -p sealgate sealgate --help`
}
