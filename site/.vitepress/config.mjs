import fs from 'node:fs'
import path from 'node:path'
import { sections } from '../pages.mjs'

const content = path.join(import.meta.dirname, '..', 'content')

// title returns the first heading of a page.
function title(name) {
  const text = fs.readFileSync(path.join(content, `${name}.md`), 'utf8')
  return text.match(/^# (.*)$/m)[1].replaceAll('`', '')
}

function item(name) {
  switch (name) {
    case 'README': return { text: 'Overview', link: '/' }
    case 'API': return { text: 'API reference', link: '/api/' }
    case 'LAB': return { text: "The lab's report", link: '/lab/index.html', target: '_self' }
  }
  return { text: title(name), link: `/${name}` }
}

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
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: sections.map(([text, names]) => ({ text, items: names.map(item) })),
    sidebar: sections.map(([text, names]) => ({ text, collapsed: false, items: names.map(item) })),
  },
}
