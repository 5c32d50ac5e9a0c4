// The order of the site: what a reader wants to do, and the pages for it. Pages of docs/ that are not
// here yet come last.
import fs from 'node:fs'
import path from 'node:path'

const listed = [
  ['Run it', ['README', 'perftest', 'ports', 'hosts', 'impair', 'interop']],
  ['Link it', ['messages', 'connections', 'streams', 'verbs', 'verbs-programs', 'verbs-compat', 'rdmacm',
    'kv', 'rpc', 'http', 'grpc', 'api-speed', 'API']],
  ['Operate it', ['metrics', 'trace', 'deploy', 'security', 'SECURITY', 'cc', 'prioplus', 'tocc', 'carc',
    'nicoffload', 'bytetuning']],
  ['Research with it', ['tutorial-cc', 'fabric', 'lab', 'LAB', 'findings']],
  ['Change it', ['architecture', 'wire', 'soak', 'chaos', 'CONTRIBUTING', 'dependencies', 'CHANGELOG']],
]

const docs = fs.readdirSync(path.join(import.meta.dirname, '..', 'docs'))
  .filter((f) => f.endsWith('.md')).map((f) => path.basename(f, '.md'))
const known = new Set(listed.flatMap(([, names]) => names))
const rest = docs.filter((name) => !known.has(name))

export const sections = rest.length > 0 ? [...listed, ['More', rest]] : listed

// slug returns the name of a page on the site. Names differ in more than case.
export const slug = (name) => ({ README: 'overview', SECURITY: 'reporting' })[name] ?? name
