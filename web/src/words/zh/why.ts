import type { Words } from '../en.ts'

// 原因页的用词。

export const why: Words['why'] = {
  now: '为什么是现在这样',
  needs: '它需要',
  nodes: '各节点的空闲资源',
  before: '排在它前面的作业',
  role: '角色',
  each: '每个任务',
  free: '空闲',
  heldBy: '占用的作业',
  fits: '资源足够',
  tooLittle: '不够',
  closed: '不可用',
}
