import type { Words } from '../en.ts'

// 节点页的用词。

export const nodes: Words['nodes'] = {
  title: '节点',
  open: '可用',
  closed: '不可用',
  heldBy: '占用的作业',
  nobody: '无',
  empty: '没有节点',
  emptyHint: '服务器没有找到可以运行任务的地方；`trainmaster doctor` 会说明原因。',
}
