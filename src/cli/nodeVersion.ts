/** Checks the version of Node and of its OpenSSL. Old versions must be able to run this file. */

/** The first versions with ML-KEM, that of Node as in package.json. Linux distributions link Node with an OpenSSL of their own. */
export const NEEDED = "24.7.0"
const NEEDED_OPENSSL = "3.5.0"

interface Versions {
  readonly node: string
  readonly openssl: string
}

const numbers = (version: string) => version.split(".").map(Number)

const isAtLeast = (version: string, needed: string): boolean => {
  const [major = 0, minor = 0] = numbers(version)
  const [neededMajor = 0, neededMinor = 0] = numbers(needed)
  return major > neededMajor || (major === neededMajor && minor >= neededMinor)
}

/** Returns the error message if Node at `path`, or its OpenSSL, is too old. */
export const whyTooOld = (versions: Versions, path: string): string | undefined => {
  const { node, openssl } = versions
  const isNew = isAtLeast(node, NEEDED)
  if (isNew && isAtLeast(openssl, NEEDED_OPENSSL)) return undefined
  const problem = isNew
    ? `sealgate needs a Node with OpenSSL ${NEEDED_OPENSSL} or newer; this Node ${node} (${path}) uses OpenSSL ${openssl}.`
    : `sealgate needs Node ${NEEDED} or newer; this is Node ${node} (${path}).`
  return `${problem}
Get one from https://nodejs.org, or with a version manager: nvm install 24, fnm install 24, mise use node@24.
To try it without installing one: npx -p node@24 -p sealgate sealgate --help`
}
