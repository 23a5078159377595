import type { Words } from '../en.ts'

// 总览页的用词。

export const home: Words['home'] = {
  title: '总览',
  byState: '我的作业（按状态）',
  atLeast: count => `${count}+`,
  cluster: '集群',
  cpus: 'CPU',
  memory: '内存',
  noAccelerators: '这些节点上没有加速卡',
  usedOf: (used, total) => `已用 ${used} / 共 ${total}`,
  recent: '最近的作业',
  allJobs: '全部作业',
  start: '选一个框架开始',
  ownImage: '自定义镜像',
  ownFile: '作业文件',
  nodesUp: (up, all) => `${all} 个节点，${up} 个可用`,
}
