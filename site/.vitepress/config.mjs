import fs from 'node:fs'
import path from 'node:path'
import { sections, slug } from '../pages.mjs'

const content = path.join(import.meta.dirname, '..', 'content')

// title returns the first heading of a page.
function title(name) {
  const text = fs.readFileSync(path.join(content, `${name}.md`), 'utf8')
  return text.match(/^# (.*)$/m)[1].replaceAll('`', '')
}

function item(name) {
  switch (name) {
    case 'README': return { text: 'Overview', link: '/overview' }
    case 'API': return { text: 'API reference', link: '/api/' }
    case 'LAB': return { text: "The lab's report", link: '/lab/index.html', target: '_self' }
  }
  return { text: title(slug(name)), link: `/${slug(name)}` }
}

// packages are the pages of the API reference, by their paths.
const packages = fs.readdirSync(path.join(content, 'api')).map((f) => path.basename(f, '.md'))
  .filter((name) => name !== 'index')
  .map((name) => ({ text: name.replaceAll('-', '/'), link: `/api/${name}` }))

export default {
  title: 'goroce',
  description: 'RoCEv2 in Go over DPDK ports',
  srcDir: 'content',
  outDir: '../bin/site',
  cacheDir: '../.cache/vitepress',
  cleanUrls: false,
  lastUpdated: false,
  // Pages use no HTML: what looks like a tag is text.
  markdown: { html: false, lineNumbers: false },
  ignoreDeadLinks: [/^\/lab\//],
  // Pages are large, and so is the index of the search.
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: sections.map(([text, names]) => ({ text, items: names.map(item) })),
    sidebar: {
      '/api/': [{ text: 'API reference', link: '/api/', items: packages }],
      '/': sections.map(([text, names]) => ({ text, collapsed: false, items: names.map(item) })),
    },
  },
}
