#pragma once
#include "../../evo/torch.h"
#include "../../evo/irange.h"
