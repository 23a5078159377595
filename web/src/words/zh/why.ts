import type { Words } from '../en.ts'

// 原因页的用词。

export const why: Words['why'] = {
  now: '为什么是现在这样',
  next: '可以怎么做',
  needs: '它需要',
  nodes: '各节点的空闲资源',
  before: '排在它前面的作业',
  role: '角色',
  each: '每个任务',
  free: '空闲',
  of: '/',
  heldBy: '占用者',
  fits: '放得下',
  tooLittle: '不够',
  closed: '不可用',
}
